import {
  ariaDescribedByIds,
  errorId,
  getInputProps,
  type ArrayFieldItemTemplateProps,
  type BaseInputTemplateProps,
  type FieldErrorProps,
  type IconButtonProps,
  type RegistryWidgetsType,
  type TemplatesType,
  type TitleFieldProps,
  type WidgetProps,
} from "@rjsf/utils";
import CheckboxesWidget from "@rjsf/core/lib/components/widgets/CheckboxesWidget.js";
import SelectWidget from "@rjsf/core/lib/components/widgets/SelectWidget.js";
import type { ChangeEvent } from "react";

function BaseInput(props: BaseInputTemplateProps) {
  const { id, htmlName, readonly, disabled, required, options, schema, type } = props;
  const value = props.value as string | number | null | undefined;
  const { onChange, onChangeOverride, rawErrors = [] } = props;
  const input = getInputProps(schema, type as string | undefined, options);
  const change = ({ target }: ChangeEvent<HTMLInputElement>) => {
    onChange(target.value === "" ? options.emptyValue : target.value);
  };
  return (
    <input
      {...input}
      id={id}
      name={htmlName ?? id}
      className="sayso-input"
      value={value ?? ""}
      readOnly={readonly}
      disabled={disabled}
      required={required}
      aria-invalid={rawErrors.length > 0}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={onChangeOverride ?? change}
    />
  );
}

/** Yes, no, or not said yet: a single box could not show the third. */
function YesNo(props: WidgetProps) {
  const { id, label, required, disabled, onChange, rawErrors = [] } = props;
  const value: unknown = props.value;
  const option = (says: boolean, text: string) => (
    <label className="sayso-option">
      <input
        type="radio"
        name={id}
        id={says ? id : `${id}-no`}
        checked={value === says}
        disabled={disabled}
        onChange={() => {
          onChange(says);
        }}
      />
      {text}
    </label>
  );
  return (
    <fieldset
      className="sayso-yesno"
      aria-describedby={ariaDescribedByIds(id)}
      aria-invalid={rawErrors.length > 0}
    >
      <legend>
        {label}
        {required === true && <span className="required">*</span>}
      </legend>
      {option(true, "Yes")}
      {option(false, "No")}
    </fieldset>
  );
}

function FieldErrors({ errors = [], fieldPathId }: FieldErrorProps) {
  const texts = errors.filter((one) => one !== "");
  if (texts.length === 0) return null;
  return (
    <ul id={errorId(fieldPathId)} className="sayso-problems">
      {texts.map((error, index) => (
        <li key={index}>{error}</li>
      ))}
    </ul>
  );
}

function ArrayItem({ children, hasToolbar, buttonsProps, registry }: ArrayFieldItemTemplateProps) {
  const { ArrayFieldItemButtonsTemplate } = registry.templates;
  return (
    <div className="sayso-item">
      <div className="sayso-item-field">{children}</div>
      {hasToolbar && (
        <div className="sayso-item-tools">
          <ArrayFieldItemButtonsTemplate {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

function textButton(text: string, name: string) {
  return function TextButton({ id, onClick, disabled }: IconButtonProps) {
    return (
      <button
        type="button"
        id={id}
        className="sayso-button sayso-small"
        aria-label={name}
        disabled={disabled}
        onClick={onClick}
      >
        {text}
      </button>
    );
  };
}

/** The name of a group of fields; one that may be left out as a whole says so. */
function Title({ id, title, required = false, registry }: TitleFieldProps) {
  const { idPrefix } = registry.globalFormOptions;
  const whole = id === `${idPrefix}__title`;
  return (
    <legend id={id}>
      {title}
      {required && <span className="required">*</span>}
      {!required && !whole && <span className="sayso-optional"> (optional)</span>}
    </legend>
  );
}

/** How the form library draws what is not worth its default. */
export const templates: Partial<Omit<TemplatesType, "ButtonTemplates">> & {
  ButtonTemplates: Partial<TemplatesType["ButtonTemplates"]>;
} = {
  BaseInputTemplate: BaseInput,
  FieldErrorTemplate: FieldErrors,
  TitleFieldTemplate: Title,
  ArrayFieldItemTemplate: ArrayItem,
  ButtonTemplates: {
    AddButton: textButton("Add", "Add an entry"),
    RemoveButton: textButton("Remove", "Remove this entry"),
    MoveUpButton: textButton("↑", "Move this entry up"),
    MoveDownButton: textButton("↓", "Move this entry down"),
  },
};

/** One of a few is picked from a list, several are ticked: a list for several is hard to use. */
function Select(props: WidgetProps) {
  return props.multiple === true ? <CheckboxesWidget {...props} /> : <SelectWidget {...props} />;
}

export const widgets: RegistryWidgetsType = { CheckboxWidget: YesNo, SelectWidget: Select };
